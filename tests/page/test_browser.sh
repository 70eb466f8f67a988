#!/bin/sh
# A report in a browser: light, dark and printed, with no network.   test_browser.sh SOURCE BUILD
# The folder is made by hand, so that nothing is trained.
set -eu
millrace=$2/millrace
browser=
for name in chromium chromium-browser google-chrome; do
	if command -v $name >/dev/null 2>&1; then
		browser=$name
		break
	fi
done
if [ -z "$browser" ]; then
	. "$1/tests/missing.sh"
	missing_package browser "Chromium that can open a report" chromium
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir run
awk 'BEGIN {
	for (i = 1; i <= 60; i++) {
		printf "{\"step\":%d,\"loss\":%.4f,\"samples\":%d,\"seconds\":%.2f,", i, 3 / i + 1, 8 * i, i / 10
		printf "\"gflops\":20,\"bubble\":0.2,\"wait_data\":0.1}\n"
		if (i % 20 == 0)
			printf "{\"step\":%d,\"val_loss\":%.4f,\"seconds\":%.2f}\n", i, 3 / i + 1.1, i / 10
	}
}' >run/metrics.jsonl
cat >run/run.json <<'END'
{"about": {"model": "mlp"}, "environment": {"host": "here"},
 "nodes": [{"node": 0, "bytes": 8589934592, "caches": [{"bytes": 33554432, "cpus": [0, 1, 2, 3]}]}],
 "workers": [{"worker": 0, "cpus": [0, 1], "text": "w0: stage 0", "elapsed": 6, "busy": 4, "waits": {"data": 1}},
             {"worker": 1, "cpus": [2], "text": "w1: stage 1", "elapsed": 6, "busy": 5, "waits": {"upstream": 0.5}}],
 "stages": [{"stage": 0, "worker": 0, "layers": "fc.0", "parameters": 1200}],
 "sessions": [{"begun": "2026-01-02 03:04:05 UTC", "host": "here", "from": 0, "to": 40, "seconds": 4, "busy": 0.7},
              {"begun": "2026-01-03 03:04:05 UTC", "host": "here", "from": 40}],
 "roofline": {"cores": 2, "peak": 5e11, "levels": [{"level": "L2", "rate": 4e11}, {"level": "L3", "rate": 2e11},
  {"level": "memory", "rate": 3e10}], "points": [{"name": "w0 F", "flop": 1e9, "bytes": 1e8, "seconds": 0.01,
  "least": 0.005}]},
 "staleness": [{"stage": 0, "gradients": [1, 59]}, {"stage": 1, "gradients": [60]}],
 "bytes": {"predicted": 50000000, "measured": 48000000},
 "timeline": {"what": "Two steps.", "versions": true, "records": [[0, 0, 0, 0, 0, 0, 0, 1000000],
  [1, 0, 1, 0, 0, 0, 1000000, 2000000], [1, 2, 1, 0, 0, 0, 2000000, 4000000], [0, 2, 0, 0, 0, 0, 4000000, 6000000]]}}
END
cat >run/errors.json <<'END'
{"step": 60, "trains_only": false, "kind": "classes", "samples": 30, "of_samples": 30, "accuracy": 0.9,
 "classes": [{"class": "a", "samples": 20, "predictions": 19, "right": 18},
             {"class": "a class with a long name", "samples": 10, "predictions": 11, "right": 9}],
 "confusion": [[18, 2], [1, 9]], "columns": ["one of many", "another of them", "the last column", "text", "more"],
 "worst": [{"sample": 3, "line": 5, "file": "/a/long/way/to/rows.csv", "target": "a", "prediction": "b",
 "probability": 0.1, "values": ["12345.678", "more than a phone shows", "12345.678", "more of it", "the end"]}]}
END
"$millrace" report run -o page.html

# Nothing of the user's settings, and every name unknown: the page must not need one.
browse() {
	timeout 300 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$dir/settings" --hide-scrollbars \
		--host-resolver-rules="MAP * ~NOTFOUND" --window-size=1100,3000 "$@" "file://$dir/${page:-page.html}" \
		>"$dir/out" 2>"$dir/err" || {
		echo "$browser $*:"
		cat "$dir/err"
		exit 1
	}
}
browse --blink-settings=preferredColorScheme=0 --screenshot="$dir/dark.png"
browse --blink-settings=preferredColorScheme=1 --screenshot="$dir/light.png" --dump-dom --no-pdf-header-footer \
	--print-to-pdf="$dir/page.pdf"
for picture in light dark; do
	[ "$(dd if=$picture.png bs=1 skip=1 count=3 2>/dev/null)" = PNG ] || {
		echo "$picture.png is no picture"
		exit 1
	}
done
if cmp -s light.png dark.png; then
	echo "a reader who prefers dark gets the light page"
	exit 1
fi
[ "$(dd if=page.pdf bs=1 count=4 2>/dev/null)" = %PDF ] || {
	echo "the page cannot be printed"
	exit 1
}
# The page as the browser understood it has all pictures.
[ "$(grep -o '<svg ' out | wc -l)" -eq 9 ] && [ "$(grep -c '</html>' out)" = 1 ] || {
	echo "pictures are missing in the page that the browser made:"
	grep -o '<svg [^>]*' out
	exit 1
}
if grep -i 'console\|ERR_' err; then
	echo "the browser complains about the page"
	exit 1
fi

# On a phone nothing is wider than the screen but what scrolls by itself; only the narrow chart of losses stands there.
{
	cat page.html
	echo '<script>
		let shown = s => document.querySelector(s).getBoundingClientRect().width > 0
		document.title = [document.documentElement.scrollWidth > innerWidth, shown(".broad"), shown(".narrow")]
	</script>'
} >asked.html
for size in 390,false,false,true 1280,false,true,false; do
	page=asked.html browse --window-size="${size%%,*},900" --dump-dom
	grep -q "<title>${size#*,}</title>" out || {
		echo "${size%%,*} pixels: too wide, wide, narrow losses: $(grep -o '<title>.*</title>' out)"
		exit 1
	}
done
