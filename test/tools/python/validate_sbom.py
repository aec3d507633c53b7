"""Prints what in the given SBOMs does not match the JSON schema of CycloneDX 1.6, and exits with 1 then."""

import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

validator = JsonStrictValidator(SchemaVersion.V1_6)
failed = False
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        error = validator.validate_str(file.read())
    if error is not None:
        failed = True
        print(f"{path}: {error}")
sys.exit(1 if failed else 0)
