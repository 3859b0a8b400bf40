"""End to end with the real MiniLM: `make test-embeddings` makes its venv and says that it is there."""

import os

if "ASKNEXT_TEST_EMBEDDINGS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
