# A multi-model endpoint on Torpor, written as for AWS. Only the line in the provider block is for Torpor.
#
# With `torpor up` in one terminal, in another, from the root of this checkout (torpor.bundle writes artifacts):
#
#     eval "$(.venv/bin/torpor env)"
#     cd examples/terraform
#     terraform init
#     terraform apply -var artifact=../../models/Houston_TX.tar.gz
#     terraform destroy -var artifact=../../models/Houston_TX.tar.gz
#
# The endpoints then serve it as house.tar.gz:
#
#     ../../.venv/bin/torpor invoke terraform-serverless --target-model house.tar.gz --body 0.4,0.2,0.7

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

provider "aws" {
  region            = "us-east-1"
  s3_use_path_style = true # AWS_ENDPOINT_URL gives the address; buckets are not host names there
}

variable "artifact" {
  description = "A model archive that the multi-model endpoint serves as house.tar.gz."
  type        = string
}

variable "instances" {
  description = "How many instances serve the endpoint that has instances."
  type        = number
  default     = 1
}

variable "bake_s" {
  description = "How long an update of that endpoint is watched, in seconds, before it gets all requests."
  type        = number
  default     = 60
}

resource "aws_s3_bucket" "models" {
  bucket        = "terraform-models"
  force_destroy = true
}

resource "aws_s3_object" "house" {
  bucket = aws_s3_bucket.models.id
  key    = "models/house.tar.gz"
  source = var.artifact
  etag   = filemd5(var.artifact)
}

resource "aws_iam_role" "execution" {
  name = "terraform-execution"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "sagemaker.amazonaws.com" }
    }]
  })
}

resource "aws_sagemaker_model" "houses" {
  name               = "terraform-houses"
  execution_role_arn = aws_iam_role.execution.arn

  primary_container {
    image          = "torpor"
    mode           = "MultiModel"
    model_data_url = "s3://${aws_s3_bucket.models.id}/models/"
    environment    = { TORPOR_MEMORY_MIB = "256" }
  }

  tags = { Purpose = "example" }
}

resource "aws_sagemaker_endpoint_configuration" "serverless" {
  name_prefix = "terraform-serverless-"

  production_variants {
    variant_name = "AllTraffic"
    model_name   = aws_sagemaker_model.houses.name

    serverless_config {
      memory_size_in_mb = 2048
      max_concurrency   = 5
    }
  }

  lifecycle { create_before_destroy = true }
}

resource "aws_sagemaker_endpoint_configuration" "instances" {
  name_prefix = "terraform-instances-"

  production_variants {
    variant_name           = "AllTraffic"
    model_name             = aws_sagemaker_model.houses.name
    initial_instance_count = var.instances
    instance_type          = "ml.m5.large"
    initial_variant_weight = 1
  }

  lifecycle { create_before_destroy = true }
}

resource "aws_sagemaker_endpoint" "serverless" {
  name                 = "terraform-serverless"
  endpoint_config_name = aws_sagemaker_endpoint_configuration.serverless.name
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name          = "terraform-instances-errors"
  namespace           = "AWS/SageMaker"
  metric_name         = "Invocation5XXErrors"
  dimensions          = { EndpointName = "terraform-instances", VariantName = "AllTraffic" }
  statistic           = "Sum"
  period              = 60
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
}

# An update gives half of the requests to the new instances first. If the alarm goes off meanwhile, the old ones get all
# again, and the next plan proposes the update anew. `terraform apply` fails where it sees the endpoint go back.
resource "aws_sagemaker_endpoint" "instances" {
  name                 = "terraform-instances"
  endpoint_config_name = aws_sagemaker_endpoint_configuration.instances.name
  tags                 = { Purpose = "example" }

  deployment_config {
    blue_green_update_policy {
      traffic_routing_configuration {
        type                     = "CANARY"
        wait_interval_in_seconds = var.bake_s

        canary_size {
          type  = "CAPACITY_PERCENT"
          value = 50
        }
      }

      maximum_execution_timeout_in_seconds = 1800
    }

    auto_rollback_configuration {
      alarms { alarm_name = aws_cloudwatch_metric_alarm.errors.alarm_name }
    }
  }
}

resource "aws_appautoscaling_target" "instances" {
  service_namespace  = "sagemaker"
  resource_id        = "endpoint/${aws_sagemaker_endpoint.instances.name}/variant/AllTraffic"
  scalable_dimension = "sagemaker:variant:DesiredInstanceCount"
  min_capacity       = 1
  max_capacity       = 3
}

resource "aws_appautoscaling_policy" "instances" {
  name               = "requests-per-instance"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.instances.service_namespace
  resource_id        = aws_appautoscaling_target.instances.resource_id
  scalable_dimension = aws_appautoscaling_target.instances.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value       = 100
    scale_in_cooldown  = 60
    scale_out_cooldown = 30

    predefined_metric_specification {
      predefined_metric_type = "SageMakerVariantInvocationsPerInstance"
    }
  }
}

output "endpoints" {
  value = [aws_sagemaker_endpoint.serverless.name, aws_sagemaker_endpoint.instances.name]
}
