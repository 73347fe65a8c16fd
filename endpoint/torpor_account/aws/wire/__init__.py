"""AWS's wire protocols: JSON, query and CBOR bodies to parameters, and answers back. They know no operation."""
