"""Run the command line as `python -m clearhead`."""

from clearhead.cli.main import main

if __name__ == "__main__":
    main()
