import sys
from pathlib import Path

# Helper modules of these tests are imported by name.
sys.path.insert(0, str(Path(__file__).parent))
