// The AWS SDK for JavaScript, unchanged, against an endpoint: AWS_ENDPOINT_URL is all that it is told.
// Its arguments are a model artifact, the text to send to the model, and the number that must come back.

import assert from "node:assert/strict";
import { createReadStream, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import {
  CloudWatchClient,
  GetMetricDataCommand,
  GetMetricStatisticsCommand,
  ListMetricsCommand,
  PutMetricDataCommand,
} from "@aws-sdk/client-cloudwatch";
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import {
  CreateEndpointCommand,
  CreateEndpointConfigCommand,
  CreateModelCommand,
  DeleteEndpointCommand,
  DescribeEndpointCommand,
  SageMakerClient,
  waitUntilEndpointDeleted,
  waitUntilEndpointInService,
} from "@aws-sdk/client-sagemaker";
import { InvokeEndpointCommand, SageMakerRuntimeClient } from "@aws-sdk/client-sagemaker-runtime";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";

const [artifact, rows, expected] = process.argv.slice(2);
const bucket = "javascript";
const name = "javascript";
const wait = { minDelay: 1, maxDelay: 2, maxWaitTime: 60 };

async function objects() {
  const s3 = new S3Client({ forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "all/a.tar.gz", Body: readFileSync(artifact) }));
  // A stream is sent in chunks with its checksum behind them, over http too.
  const size = readFileSync(artifact).length;
  const streamed = { Bucket: bucket, Key: "stream", Body: createReadStream(artifact), ContentLength: size };
  await s3.send(new PutObjectCommand({ ...streamed, ChecksumAlgorithm: "CRC32C" }));
  const head = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: "stream", ChecksumMode: "ENABLED" }));
  assert.equal(head.ContentLength, size);
  assert.ok(head.ChecksumCRC32C);
  const parts = Readable.from([Buffer.alloc(6 << 20, 1), Buffer.alloc(6 << 20, 2)]);
  await new Upload({ client: s3, params: { Bucket: bucket, Key: "large", Body: parts } }).done();
  const large = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: "large" }));
  assert.equal((await large.Body.transformToByteArray()).length, 12 << 20);
  const listed = await s3.send(new ListObjectsV2Command({ Bucket: bucket }));
  assert.deepEqual(listed.Contents.map((entry) => entry.Key), ["all/a.tar.gz", "large", "stream"]);
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket: bucket, Key: "stream" }));
  assert.equal((await (await fetch(url)).arrayBuffer()).byteLength, size);
  const missing = s3.send(new GetObjectCommand({ Bucket: bucket, Key: "missing" }));
  await assert.rejects(missing, { name: "NoSuchKey" });
  console.log("client-s3, lib-storage, s3-request-presigner: put, stream, multipart, get, list, presigned, NoSuchKey");
}

async function endpoint() {
  const client = new SageMakerClient();
  const container = { Image: "torpor", Mode: "MultiModel", ModelDataUrl: `s3://${bucket}/all/` };
  const variant = { VariantName: "All", ModelName: name, InitialInstanceCount: 1, InstanceType: "ml.m5.large" };
  await client.send(new CreateModelCommand({ ModelName: name, PrimaryContainer: container }));
  await client.send(new CreateEndpointConfigCommand({ EndpointConfigName: name, ProductionVariants: [variant] }));
  await client.send(new CreateEndpointCommand({ EndpointName: name, EndpointConfigName: name }));
  await waitUntilEndpointInService({ client, ...wait }, { EndpointName: name });
  const invoke = { EndpointName: name, TargetModel: "a.tar.gz", ContentType: "text/csv", Body: rows };
  const answer = await new SageMakerRuntimeClient().send(new InvokeEndpointCommand(invoke));
  const [predicted] = JSON.parse(Buffer.from(answer.Body).toString());
  assert.ok(Math.abs(predicted - Number(expected)) < 1e-4, `${predicted}`);
  await client.send(new DeleteEndpointCommand({ EndpointName: name }));
  await waitUntilEndpointDeleted({ client, ...wait }, { EndpointName: name });
  const gone = client.send(new DescribeEndpointCommand({ EndpointName: name }));
  await assert.rejects(gone, { name: "ValidationException", message: /Could not find endpoint/ });
  console.log("client-sagemaker, client-sagemaker-runtime: create, wait, invoke a target model, delete");
}

async function metrics() {
  const client = new CloudWatchClient();
  const now = new Date();
  const window = { StartTime: new Date(now - 3600e3), EndTime: new Date(+now + 3600e3) };
  const data = [{ MetricName: "Rows", Value: 3, Timestamp: now }];
  await client.send(new PutMetricDataCommand({ Namespace: "JavaScript", MetricData: data }));
  const metric = { Namespace: "JavaScript", MetricName: "Rows" };
  const statistics = new GetMetricStatisticsCommand({ ...metric, ...window, Period: 60, Statistics: ["Sum"] });
  assert.deepEqual((await client.send(statistics)).Datapoints.map((point) => point.Sum), [3]);
  const queries = [{ Id: "m", MetricStat: { Metric: metric, Period: 60, Stat: "Sum" } }];
  const found = await client.send(new GetMetricDataCommand({ ...window, MetricDataQueries: queries }));
  assert.deepEqual(found.MetricDataResults[0].Values, [3]);
  const listed = await client.send(new ListMetricsCommand({ Namespace: "JavaScript" }));
  assert.equal(listed.Metrics.length, 1);
  console.log("client-cloudwatch: put, statistics, data, list");
}

await objects();
await endpoint();
await metrics();
console.log("client-sts:", (await new STSClient().send(new GetCallerIdentityCommand({}))).Arn);
