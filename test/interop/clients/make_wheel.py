"""Writes a wheel with one module to the given file."""
import sys
import zipfile

INFO = "sample-1.0.dist-info"
FILES = {
    "sample.py": 'GREETING = "hello"\n',
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": "",
}

with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, text in FILES.items():
        wheel.writestr(name, text)
