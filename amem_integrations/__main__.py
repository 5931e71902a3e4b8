"""`python -m amem_integrations` is `amem`."""

from amem_integrations.cli import main

if __name__ == "__main__":
    main()
