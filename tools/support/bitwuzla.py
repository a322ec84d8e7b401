#!/usr/bin/env python3
"""The solver Bitwuzla as the program that the proof flow asks: SMT-LIB on stdin, answers on stdout. Its wheel holds the library alone."""

import bitwuzla

options = bitwuzla.Options()
options.set(bitwuzla.Option.PRODUCE_MODELS, 1)
# By this name the parser takes each command as it comes, instead of waiting for a whole file.
bitwuzla.Parser(bitwuzla.TermManager(), options).parse("<stdin>", False, True)
