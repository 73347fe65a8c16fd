"""The image's names of content types."""

LIBSVM = "text/libsvm"
X_LIBSVM = "text/x-libsvm"
X_PARQUET = "application/x-parquet"
X_RECORDIO_PROTOBUF = "application/x-recordio-protobuf"
