"""S3's requests and answers: headers, checksums, ranges, forms and XML. It touches no stored object."""
