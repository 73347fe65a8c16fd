# A group of model packages with its policy and tags.

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

variable "team" {
  type    = string
  default = "houses"
}

resource "aws_sagemaker_model_package_group" "houses" {
  model_package_group_name        = "terraform-houses"
  model_package_group_description = "Houses by city"
  tags                            = { team = var.team }
}

data "aws_iam_policy_document" "reads" {
  statement {
    sid       = "Reads"
    actions   = ["sagemaker:DescribeModelPackage", "sagemaker:ListModelPackages"]
    resources = [aws_sagemaker_model_package_group.houses.arn]

    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::123456789012:root"]
    }
  }
}

resource "aws_sagemaker_model_package_group_policy" "reads" {
  model_package_group_name = aws_sagemaker_model_package_group.houses.model_package_group_name
  resource_policy          = data.aws_iam_policy_document.reads.json
}
