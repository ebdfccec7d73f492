import sys

from tapegrad.engine.codegen.modules import main

sys.exit(main(sys.argv[1:]))
