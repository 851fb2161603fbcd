"""The truth of TypeScript, from its compiler: runs typescript.js."""

import json
import subprocess
import sys
from pathlib import Path


def truth(root, prefixes):
    script = Path(__file__).parent / "typescript.js"
    run = subprocess.run(["node", "--max-old-space-size=8192", script, root, *prefixes], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"node {script}: exit code {run.returncode}")
    for line in run.stdout.splitlines():
        site, kind, definitions = json.loads(line)
        yield tuple(site), kind, {tuple(place) for place in definitions}
