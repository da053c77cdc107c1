"""`python -m optsched`, the same as the command `optsched`."""

from optsched.cli import main

if __name__ == "__main__":
    main()
