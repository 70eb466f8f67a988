#!/usr/bin/env python3
"""Trains small byte-level tokenizers with the package tokenizers and records what they make of texts.

    record.py FOLDER

writes NAME.json (a tokenizer.json) and NAME.texts.json (texts and their tokens, without special tokens around them).
"""
import json
import random
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

QWEN2 = LLAMA3.replace("{1,3}", "")
# What PCRE2 takes for something else, one sign a pattern.
DIALECT = [r"the\b", r"\Bs", r"\W\w", r"[\w'-]+,", r" ?[^(\s|[.,!?…。，、।۔،])]+", r"^\s", r"[.]$", r"[い-の]\p{Han}{,2}", r"\h\H\h",
           r"(?m:f.r)", r"[[:alpha:]]é", r"\u0031+", r"[[:punct:]]\v?", r"[a-[f]-]x"]

CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's what they're after, isn't it? We'll see; I'd say so, I'm sure.",
    "In 1984 there were 1,234,567 reasons; 3.14159 is not one of them, and 2718281828 is too long.",
    "for (int i = 0; i < n; i++) {\n\tsum += a[i] * b[i];\n}\n\nreturn sum;\n",
    "Größere Straßen führen über die Brücke. Où est la bibliothèque? El niño comió piñas.",
    "Быстрая коричневая лиса прыгает через ленивую собаку, и это не всё.",
    "素早い茶色の狐がのろまな犬を飛び越える。敏捷的棕色狐狸跳过了懒狗。빠른 갈색 여우가 게으른 개를 뛰어넘는다.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول. השועל החום המהיר קופץ מעל הכלב העצלן.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "🦊 jumps over 🐶! 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ☃️ ✨✨✨",
    "the the the then there these those that this thing think thank thorough through though",
]

TEXTS = CORPUS + [
    "", " ", "  ", "\n", "\n\n", " \n \n ", "a", " a", "  a", "a ", "a  ", "a\n", "\ta", "\t\t a", "a\r\nb\r\n\r\nc",
    "   leading and trailing   ", "tabs\tand\t\tmore\t", "x\n\n\n   y", "word   \n   word", "end.   \n",
    "it's IT'S It'S we'Re WE'VE i'LL I'd 'tis 'S' don''t 'ſ", "0", "00", "1234567890", "12 345 6789 0.5e-10", "１２３４ ٣٤٥ ½ Ⅷ ²",
    "a1b22c333d4444", "-1+2=3 && x||y; /* */ //", "!!!???...", "«quotes» “and” ‘more’ — dashes – …",
    "http://example.org/~user?q=1&r=%20#top", "snake_case camelCase PascalCase UPPER_CASE kebab-case", "CamelCASEWords HTTPServer iPhone",
    "é e\u0301 ё й ĳ ﬁ ǅ ʰ", "\u00a0nbsp\u00a0\u00a0and\u2003em\u3000wide", "line\u2028sep\u2029par\u0085nel", "zero\u200bwidth\u200djoin\ufeffbom",
    "mongol\u180evowel \u180e", "nul\u0001\u001f\u007f\u0080\u00ad", "\ufffd\uffff\U0010ffff", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𒀀",
    "<|end|>", "a<|end|>b", "<|end|><|end|>", " <|end|> ", "<|end|", "<|end|>ing", "<|endless|> <|endles|>", "<tool> <tool>s x<tool>",
    "a\u0300\u0301b", "ไม่มีช่องว่าง", "नमस्ते दुनिया", "שָׁלוֹם", "한국어 텍스트", "混合 mixed テキスト text",
    "x" * 300, "ab" * 200, " " * 100, "\n" * 50 + "x", "the " * 60, "7" * 100, "é" * 100, "🦊" * 40, "'s" * 30,
]

# Characters with several spellings, none younger than Unicode 9, whose table the package has; and tokens beside which
# it looks.
SPELLED = [
    "caf\u00e9 cafe\u0301 cafe\u0316\u0301 cafe\u0301\u0316", "\u212b\u00c5A\u030a a\u0302\u0323 \u1ead",
    "\u1100\u1161\u11a8 \uac01 \uac00\u11a8", "\u0958 \u0915\u093c \u2adc", "\u0344 \u0308\u0301 \u1fc1",
    "\ufb01 \u00bd \u2460 \u3392 \ufdfa", "\u0301\u0316 \u0316\u0301x\u0301", "e<mask>\u0301",
    "\u0344\u0315" * 9 + "\u0316" * 9, "a <mask> b", "a \u3000\u00a0<mask>\u2028b", "<mask>", "  <mask>  <mask>\n",
    "a<stop> \u2009\t b", "<stop>\u200b <stop>  ", "<mask> <stop> <mask>", "word", "words sword word",
    "word_ _word word\u200d \u0301word word\u0301", "word5 \u0665word word\u00b2 \u24d0word", "wordword word-word",
    "é word é", "and both and", "bothand both  both", " both ", "<mask>both<stop> both", "<mask>  both  <stop>",
    "cafe\u0301s caf\u00e9 \u00a0cafe\u0301", "\u212bngstr\u00f6m A\u030angstro\u0308m",
    "\u180e<mask>\u180e \u0085<mask>\u0085 \u001c<mask>\u001c", "<stop>\n\n\n", "<stop>\n<tool>\n", " \n \n",
    "<stop> \n \n x",
]


def mixed(n, texts=TEXTS):
    rng = random.Random(17)
    parts = [p for t in texts for p in (t[:5], t[-4:], t[2:9])] + list(" \n\t'.,0123") + ["<|end|>", "\r\n", "  "]
    return ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 12))) for _ in range(n)]


def train(pre, size, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|end|>"])
    t.train_from_iterator(CORPUS * 3, trainer)
    t.add_special_tokens([AddedToken("<|endless|>", special=True, normalized=False)])
    t.add_tokens([AddedToken("<tool>", normalized=True)])
    return t


def spelled(pre, size, normalizer):
    t = train(pre, size)
    t.normalizer = normalizer
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False),
                          AddedToken("<stop>", rstrip=True, normalized=False)])
    t.add_tokens([AddedToken("word", single_word=True), AddedToken("cafe\u0301", normalized=True),
                  AddedToken("both", single_word=True, lstrip=True, rstrip=True, normalized=False),
                  AddedToken("\n", lstrip=True, rstrip=True, normalized=False)])
    return t


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert=invert)


def bytes_only():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


TOKENIZERS = {
    "gpt2": lambda: train(pre_tokenizers.ByteLevel(add_prefix_space=False), 640),
    "llama3": lambda: train(pre_tokenizers.Sequence([split(LLAMA3), bytes_only()]), 900, ignore_merges=True),
    "o200k": lambda: train(pre_tokenizers.Sequence([split(O200K, "removed", True), bytes_only()]), 700),
    "digits": lambda: train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                     pre_tokenizers.ByteLevel(add_prefix_space=True)]), 560),
    "plain": lambda: train(bytes_only(), 420),
    "dialect": lambda: train(pre_tokenizers.Sequence([split(p) for p in DIALECT]
                                                      + [pre_tokenizers.ByteLevel(use_regex=False)]), 300),
    "qwen2": lambda: spelled(pre_tokenizers.Sequence([split(QWEN2), bytes_only()]), 400, normalizers.NFC()),
    "nfkd": lambda: spelled(bytes_only(), 300, normalizers.Sequence([normalizers.NFKC(), normalizers.NFD()])),
}


def main(folder):
    for name, make in TOKENIZERS.items():
        t = make()
        file = json.loads(t.to_str())
        if name == "gpt2":  # as its published file has them
            file["model"]["merges"] = [" ".join(pair) for pair in file["model"]["merges"]]
            del file["model"]["type"], file["model"]["ignore_merges"]
        if name == "llama3":  # whole words that no rule makes
            n = len(file["model"]["vocab"])
            file["model"]["vocab"].update({"Ġunmerged": n, "whole": n + 1})
            for added in file["added_tokens"]:
                added["id"] += 2 if added["id"] >= n else 0
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as out:
            json.dump(file, out, ensure_ascii=False, indent=0)
        t = Tokenizer.from_str(json.dumps(file))
        texts = TEXTS + mixed(150) + ["an unmerged whole whole"]
        if name == "dialect":
            texts = TEXTS + mixed(150) + [" \u0301x \u203fy \u24d0z", "x\u0301, \u203f, \u24d0, \u00b2,", "\u180ex\n\u180ey\n y.\n"]
        if t.normalizer:
            texts = SPELLED + mixed(200, SPELLED)
        record = {"source": f"tokenizers {tokenizers.__version__}", "size": max(t.get_vocab().values()) + 1,
                  "texts": [{"text": x, "tokens": t.encode(x, add_special_tokens=False).ids} for x in texts]}
        with open(f"{folder}/{name}.texts.json", "w", encoding="utf-8") as out:
            json.dump(record, out, ensure_ascii=False, separators=(",", ":"))
            out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
