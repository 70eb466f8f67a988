#!/usr/bin/env python3
"""Record small pictures as other programs write and read them, and how PyTorch resizes one.

    python3 record.py        needs torch, pillow (recorded with torch 2.15, pillow 12, CPU); writes pictures.json resized.json

Files are written by Pillow, which brings its own libjpeg-turbo, and interlaced PNGs, which it cannot write, by this
program. Pixels are those that Pillow reads: red, green, blue, row by row. Pictures drawn by Python's generator.
"""
import io
import json
import random
import struct
import zlib

import torch
import torch.nn.functional as F
from PIL import Image, ImageOps

random.seed(20271)


def smooth(rows, cols):
    """A picture that JPEG keeps well."""
    return [[(int(255 * x / cols), int(255 * y / rows), int(127 + 100 * (x - y) / (rows + cols))) for x in range(cols)]
            for y in range(rows)]


def noise(rows, cols):
    return [[tuple(random.randrange(256) for _ in range(3)) for _ in range(cols)] for _ in range(rows)]


def image(picture, mode="RGB"):
    im = Image.new("RGB", (len(picture[0]), len(picture)))
    im.putdata([p for row in picture for p in row])
    return im.convert(mode)


def written(im, kind, **options):
    out = io.BytesIO()
    im.save(out, kind, **options)
    return out.getvalue()


def orientation(k):
    exif = Image.Exif()
    exif[0x112] = k
    return exif


def pixels(data):
    im = Image.open(io.BytesIO(data))
    if im.mode.startswith("I"):  # 16 bits of grey
        im = im.convert("I").point(lambda v: v / 256).convert("L")
    im = ImageOps.exif_transpose(im).convert("RGB")
    return im.height, im.width, [v for p in im.getdata() for v in p]


ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def interlaced(picture):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    raw = b""
    for y0, x0, dy, dx in ADAM7:
        for row in picture[y0::dy]:
            if row[x0::dx]:
                raw += b"\0" + bytes(v for p in row[x0::dx] for v in p)
    head = struct.pack(">IIBBBBB", len(picture[0]), len(picture), 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


rgba = image(noise(5, 7)).convert("RGBA")
rgba.putalpha(Image.linear_gradient("L").resize((7, 5)))
deep = Image.new("I;16", (6, 4))
deep.putdata([random.randrange(65536) for _ in range(24)])
FILES = {
    "rgb.png": written(image(noise(5, 7)), "PNG"),
    "grey.png": written(image(noise(6, 5), "L"), "PNG"),
    "one_bit.png": written(image(noise(4, 11), "1"), "PNG"),
    "palette.png": written(image(noise(5, 6), "P"), "PNG"),
    "alpha.png": written(rgba, "PNG"),
    "deep.png": written(deep, "PNG"),
    "interlaced.png": interlaced(noise(11, 13)),
    "plain.jpg": written(image(smooth(19, 26)), "JPEG", quality=90),
    "full.jpg": written(image(smooth(16, 16)), "JPEG", quality=95, subsampling=0),
    "progressive.jpeg": written(image(smooth(21, 18)), "JPEG", quality=90, progressive=True),
    "grey.jpg": written(image(smooth(9, 10), "L"), "JPEG", quality=95),
    "rgb.ppm": written(image(noise(4, 3)), "PPM"),
    "grey.pgm": written(image(noise(3, 4), "L"), "PPM"),
    "cmyk.jpg": written(image(smooth(8, 8), "CMYK"), "JPEG"),
    **{f"turned_{k}.jpg": written(image(smooth(10, 14)), "JPEG", quality=95, subsampling=0, exif=orientation(k))
       for k in range(1, 9)},
    "whole.webp": written(image(smooth(9, 12)), "WEBP", lossless=True),
    "lossy.webp": written(image(smooth(16, 20)), "WEBP", quality=90),
    "palette.gif": written(image(smooth(9, 7), "P"), "GIF"),
    "interlaced.gif": written(image(smooth(21, 5), "P"), "GIF", interlace=1),
}


def resized():
    """Parts of a picture, resized in f64."""
    cases = []
    rows, cols = 17, 23
    flat = [random.randrange(256) for _ in range(rows * cols * 3)]
    whole = torch.tensor(flat, dtype=torch.float64).view(rows, cols, 3).permute(2, 0, 1)[None]
    for part, to in [((0, 0, 17, 23), (7, 9)), ((0, 0, 17, 23), (17, 23)), ((2, 3, 9, 14), (20, 31)),
                     ((5, 1, 12, 5), (6, 6)), ((16, 22, 1, 1), (4, 4)), ((0, 4, 17, 2), (5, 5))]:
        down, right, r, c = part
        out = F.interpolate(whole[:, :, down:down + r, right:right + c], size=to, mode="bilinear", antialias=True,
                            align_corners=False)
        cases.append({"part": part, "to": to, "values": [round(v, 9) for v in out[0].permute(1, 2, 0).flatten().tolist()]})
    return {"rows": rows, "cols": cols, "pixels": flat, "cases": cases}


def write(name, value):
    with open(name, "w") as f:
        f.write(json.dumps(value, separators=(",", ":")).replace("},", "},\n") + "\n")


pictures = []
for name, data in FILES.items():
    rows, cols, values = pixels(data)
    pictures.append({"name": name, "file": data.hex(), "rows": rows, "cols": cols, "pixels": values})
write("pictures.json", pictures)
write("resized.json", resized())
