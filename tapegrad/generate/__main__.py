import sys

from tapegrad.generate.modules import main

sys.exit(main(sys.argv[1:]))
