"""S3's requests and answers: headers, checksums, ranges, forms and XML. They touch no stored object."""
