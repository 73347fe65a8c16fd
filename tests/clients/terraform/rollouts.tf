# Two endpoints, updated by linear steps and by rolling batches, each watched by an alarm. examples/terraform has a canary.

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
  s3_use_path_style = true
}

variable "artifact" { type = string }

variable "edition" {
  description = "Another edition is another model, and so another endpoint configuration."
  type        = string
  default     = "1"
}

locals {
  endpoints = toset(["linear", "rolling"])
}

resource "aws_s3_bucket" "models" {
  bucket        = "terraform-rollouts"
  force_destroy = true
}

resource "aws_s3_object" "house" {
  bucket = aws_s3_bucket.models.id
  key    = "house.tar.gz"
  source = var.artifact
}

resource "aws_sagemaker_model" "house" {
  name               = "terraform-house-${var.edition}"
  execution_role_arn = "arn:aws:iam::123456789012:role/houses"

  primary_container {
    image          = "torpor"
    model_data_url = "s3://${aws_s3_bucket.models.id}/${aws_s3_object.house.key}"
    environment    = { EDITION = var.edition }
  }

  lifecycle { create_before_destroy = true }
}

resource "aws_sagemaker_endpoint_configuration" "house" {
  name_prefix = "terraform-house-"

  production_variants {
    variant_name           = "AllTraffic"
    model_name             = aws_sagemaker_model.house.name
    initial_instance_count = 2
    instance_type          = "ml.m5.large"
  }

  lifecycle { create_before_destroy = true }
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  for_each            = local.endpoints
  alarm_name          = "terraform-${each.key}-errors"
  namespace           = "AWS/SageMaker"
  metric_name         = "Invocation5XXErrors"
  statistic           = "Sum"
  period              = 60
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "ignore"
  dimensions          = { EndpointName = "terraform-${each.key}", VariantName = "AllTraffic" }
}

resource "aws_sagemaker_endpoint" "linear" {
  name                 = "terraform-linear"
  endpoint_config_name = aws_sagemaker_endpoint_configuration.house.name

  deployment_config {
    blue_green_update_policy {
      traffic_routing_configuration {
        type                     = "LINEAR"
        wait_interval_in_seconds = 1

        linear_step_size {
          type  = "CAPACITY_PERCENT"
          value = 50
        }
      }
    }

    auto_rollback_configuration {
      alarms { alarm_name = aws_cloudwatch_metric_alarm.errors["linear"].alarm_name }
    }
  }
}

resource "aws_sagemaker_endpoint" "rolling" {
  name                 = "terraform-rolling"
  endpoint_config_name = aws_sagemaker_endpoint_configuration.house.name

  deployment_config {
    rolling_update_policy {
      wait_interval_in_seconds = 1

      maximum_batch_size {
        type  = "CAPACITY_PERCENT"
        value = 50
      }

      rollback_maximum_batch_size {
        type  = "INSTANCE_COUNT"
        value = 1
      }
    }

    auto_rollback_configuration {
      alarms { alarm_name = aws_cloudwatch_metric_alarm.errors["rolling"].alarm_name }
    }
  }
}
