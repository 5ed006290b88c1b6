"""FHIR R4 (hl7.org/fhir/R4): bulk exports as NDJSON, and Bundles.

`json_stream` reads files, `resources` says what is used of a resource and checks it, `export` makes records of them.
"""
