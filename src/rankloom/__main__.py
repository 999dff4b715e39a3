"""`python -m rankloom` is the command `rankloom`."""

from rankloom.cli import main

if __name__ == "__main__":
    main()
