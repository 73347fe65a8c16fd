# The built-in container as an image, for SageMaker or any other platform that speaks its container contract.
FROM python:3.12-slim

# What CreateModel checks on SageMaker before it takes an image for a multi-model endpoint.
LABEL com.amazonaws.sagemaker.capabilities.multi-models=true \
      com.amazonaws.sagemaker.capabilities.accept-bind-to-port=true

# XGBoost and scikit-learn need the OpenMP runtime.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/torpor
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY container ./container
COPY endpoint ./endpoint
COPY sdk ./sdk
RUN pip install --no-cache-dir --constraint constraints.txt ".[container]"
# An older XGBoost beside it reads the models that the newer one no longer does.
RUN $(python -c 'from torpor_container.formats.xgboost import older_versions; print(older_versions.command())') --no-cache-dir

EXPOSE 8080
# SageMaker runs the image with the one argument `serve`.
ENTRYPOINT ["torpor-container"]
CMD ["serve"]
