"""The verdict in other tools' formats: JUnit XML and SARIF."""
