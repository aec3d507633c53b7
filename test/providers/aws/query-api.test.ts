// Requests of AWS's APIs: how they are written, what responses and errors mean, and the effect of an incorrect clock.

import { expect, test } from "bun:test";
import { type Account, type Call, CloudError, type CloudRequest, Secret } from "#ccm";
import { failureOf } from "#ccm/testing";
import { kindOfCode } from "../../../providers/aws/api/error-codes.ts";
import { awsApi } from "../../../providers/aws/api/index.ts";
import type { Session } from "../../../providers/aws/api/query-api.ts";
import { endpointOf, type Override } from "../../../providers/aws/credentials/endpoints.ts";

const call: Call = { signal: new AbortController().signal, urgency: "refresh" };
const start = Date.UTC(2026, 10, 27, 0, 30);

const xml = (root: string, content: string) => `<?xml version="1.0"?><${root}>${content}</${root}>`;
const failure = (code: string, message = "no") =>
  xml("Response", `<Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors>`);

interface Answer {
  readonly status?: number;
  readonly body: string;
  readonly date?: string;
}

/** An API as in the framework, which signs a rejected request again once. */
function apiWith(answers: readonly Answer[], overrides: readonly Override[] = []) {
  const sent: CloudRequest[] = [];
  const left = [...answers];
  const account = <T>({ fetch, sign }: Account<T>) => {
    const credential = async (): Promise<T> =>
      (
        await fetch(() => {
          throw new Error("no credential is needed");
        }, call)
      ).value;
    const send = async <R>(request: CloudRequest, read: (response: Response) => Promise<R>): Promise<R> => {
      sent.push(await sign(request, await credential(), start));
      const { status = 200, body, date } = left.shift() ?? { status: 599, body: "" };
      return read(new Response(body, { status, headers: { ...(date && { date }) } }));
    };
    return {
      credential,
      messages: () => {
        throw new Error("AWS has no messages");
      },
      transport: async <R>(request: CloudRequest, _: Call, read: (response: Response) => Promise<R>) => {
        try {
          return await send(request, read);
        } catch (error) {
          if (!CloudError.is(error) || error.kind !== "unauthorized") throw error;
          return send(request, read);
        }
      },
    };
  };
  const value: Session = { key: { id: "AKID", secret: new Secret("secret-key") }, region: "us-west-2" };
  const access = {
    session: async () => ({ value }),
    endpointOf: (service: { readonly name: string; readonly id: string }, region: string) =>
      endpointOf(service, region, { overrides }),
  };
  return { sent, api: awsApi(access, account) };
}

const form = (request: CloudRequest | undefined) =>
  Object.fromEntries(new URLSearchParams(String(request?.body ?? "")));

async function failureWith(body: string, status = 400): Promise<CloudError> {
  const { api } = apiWith([
    { status, body },
    { status, body },
  ]);
  const error = await failureOf(api.ec2.describeSubnets({}, call));
  if (!CloudError.is(error)) throw error;
  return error;
}

test("numbers the elements of lists as EC2 and Elastic Load Balancing expect", async () => {
  const { api, sent } = apiWith([
    { body: xml("AuthorizeSecurityGroupIngressResponse", "<return>true</return>") },
    { body: xml("RegisterInstancesWithLoadBalancerResponse", "") },
    { body: xml("SetLoadBalancerPoliciesOfListenerResponse", "") },
  ]);
  const rule = {
    IpProtocol: "tcp",
    FromPort: 80,
    ToPort: 80,
    IpRanges: [{ CidrIp: "10.0.0.0/8", Description: "a&b" }],
  };
  const ingress = { GroupId: "sg-1", IpPermissions: [rule] };
  await api.ec2.change("AuthorizeSecurityGroupIngress", ingress, call);
  const LoadBalancerName = "shop";
  const Instances = [{ InstanceId: "i-1" }, { InstanceId: "i-2" }];
  await api.elb.change("RegisterInstancesWithLoadBalancer", { LoadBalancerName, Instances }, call);
  const policies = { LoadBalancerName, LoadBalancerPort: 443, PolicyNames: [] };
  await api.elb.change("SetLoadBalancerPoliciesOfListener", policies, call);
  expect(sent.map(form)).toEqual([
    {
      Action: "AuthorizeSecurityGroupIngress",
      Version: "2016-11-15",
      GroupId: "sg-1",
      "IpPermissions.1.IpProtocol": "tcp",
      "IpPermissions.1.FromPort": "80",
      "IpPermissions.1.ToPort": "80",
      "IpPermissions.1.IpRanges.1.CidrIp": "10.0.0.0/8",
      "IpPermissions.1.IpRanges.1.Description": "a&b",
    },
    {
      Action: "RegisterInstancesWithLoadBalancer",
      Version: "2012-06-01",
      LoadBalancerName: "shop",
      "Instances.member.1.InstanceId": "i-1",
      "Instances.member.2.InstanceId": "i-2",
    },
    {
      Action: "SetLoadBalancerPoliciesOfListener",
      Version: "2012-06-01",
      LoadBalancerName: "shop",
      LoadBalancerPort: "443",
      PolicyNames: "",
    },
  ]);
  expect(sent.map(({ mutates }) => mutates)).toEqual([true, true, true]);
});

test("follows the cursors of a listing, and sends no page size with ids [F77]", async () => {
  const page = (ids: string, next: string) =>
    xml("DescribeInstancesResponse", `<reservationSet>${ids}</reservationSet><nextToken>${next}</nextToken>`);
  const reservation = (id: string) =>
    `<item><instancesSet><item><instanceId>${id}</instanceId></item></instancesSet></item>`;
  const { api, sent } = apiWith([
    { body: page(reservation("i-1") + reservation("i-2"), "t=1") },
    { body: page(reservation("i-3"), "") },
    { body: page("", "") },
  ]);
  const ids: string[] = [];
  for await (const found of api.ec2.instancePages({}, call))
    ids.push(...found.map(({ instanceId }) => instanceId));
  expect(ids).toEqual(["i-1", "i-2", "i-3"]);
  for await (const found of api.ec2.instancePages({ InstanceId: ["i-9"] }, call)) expect(found).toEqual([]);
  expect(sent.map(form)).toEqual([
    { Action: "DescribeInstances", Version: "2016-11-15", MaxResults: "1000" },
    { Action: "DescribeInstances", Version: "2016-11-15", MaxResults: "1000", NextToken: "t=1" },
    { Action: "DescribeInstances", Version: "2016-11-15", "InstanceId.1": "i-9" },
  ]);
  expect(sent.every(({ mutates }) => !mutates)).toBe(true);
});

test("treats a response without its list as a proxy's response", async () => {
  for (const body of [xml("html", ""), "{}", xml("DescribeSubnetsResponse", "<requestId>1</requestId>")]) {
    expect((await failureWith(body, 200)).kind).toBe("unavailable");
  }
});

test("reports the code and the message of an error", async () => {
  const error = await failureWith(failure("UnauthorizedOperation", "You are not authorized."), 403);
  expect([error.kind, error.detail.code, error.message]).toEqual([
    "forbidden",
    "UnauthorizedOperation",
    "The cloud refused DescribeSubnets (403 from POST https://ec2.us-west-2.amazonaws.com/: You are not authorized. [UnauthorizedOperation]).",
  ]);
  const elb = xml("ErrorResponse", "<Error><Type>Sender</Type><Code>Throttling</Code></Error>");
  expect((await failureWith(elb)).kind).toBe("rate-limited");
});

test.each([
  ["RequestLimitExceeded", "rate-limited"],
  ["Throttling", "rate-limited"],
  ["ExpiredToken", "unauthorized"],
  ["RequestExpired", "unauthorized"],
  ["AuthFailure", "unauthorized"],
  ["AccessDenied", "forbidden"],
  ["InvalidInstanceID.NotFound", "not-found"],
  ["LoadBalancerNotFound", "not-found"],
  ["InvalidGroup.NotFound", "not-found"],
  ["DependencyViolation", "busy"],
  ["ResourceInUse", "busy"],
  ["IncorrectInstanceState", "busy"],
  ["RouteAlreadyExists", "conflict"],
  ["InvalidPermission.Duplicate", "conflict"],
  ["DuplicateTargetGroupName", "conflict"],
  ["RouteLimitExceeded", "quota"],
  ["RulesPerSecurityGroupLimitExceeded", "quota"],
  ["TooManyLoadBalancers", "quota"],
  ["CertificateNotFound", "invalid"],
  ["SubnetNotFound", "invalid"],
  ["InvalidInstanceID.Malformed", undefined],
  ["ValidationError", undefined],
  ["InternalError", undefined],
] as const)("reads %s as %p", (code, kind) => {
  expect(kindOfCode(code)).toBe(kind);
});

test("signs a request again with AWS's time when the local clock is off [F70]", async () => {
  const date = new Date(start + 10 * 60_000).toUTCString();
  const { api, sent } = apiWith([
    { status: 400, body: failure("RequestExpired"), date },
    { body: xml("DescribeSubnetsResponse", "<subnetSet/>") },
    { body: xml("DescribeSubnetsResponse", "<subnetSet/>") },
  ]);
  expect(await api.ec2.describeSubnets({}, call)).toEqual([]);
  expect(await api.ec2.describeSubnets({}, call)).toEqual([]);
  expect(sent.map(({ headers }) => headers?.["x-amz-date"])).toEqual([
    "20261127T003000Z",
    "20261127T004000Z",
    "20261127T004000Z",
  ]);
});

test("does not adjust its clock when AWS rejects the credentials", async () => {
  const date = new Date(start + 10 * 60_000).toUTCString();
  const rejected = { status: 401, body: failure("InvalidClientTokenId"), date };
  const { api, sent } = apiWith([rejected, rejected]);
  await failureOf(api.ec2.describeSubnets({}, call));
  expect(sent.map(({ headers }) => headers?.["x-amz-date"])).toEqual([
    "20261127T003000Z",
    "20261127T003000Z",
  ]);
});

test("finds the endpoint of a service by its region, or by an override", () => {
  const [ec2, elb] = [
    { name: "EC2", id: "ec2" },
    { name: "Elastic Load Balancing", id: "elasticloadbalancing" },
  ];
  const own = { service: "EC2", region: "us-west-2", url: "http://127.0.0.1:5000", "signing-region": "sim" };
  const urls = [
    endpointOf(ec2, "eu-central-1", { overrides: [own] }),
    endpointOf(elb, "cn-north-1", { overrides: [] }),
    endpointOf(ec2, "us-iso-east-1", { overrides: [] }),
  ].map(({ url }) => url);
  expect(urls).toEqual([
    "https://ec2.eu-central-1.amazonaws.com",
    "https://elasticloadbalancing.cn-north-1.amazonaws.com.cn",
    "https://ec2.us-iso-east-1.c2s.ic.gov",
  ]);
  expect(endpointOf(ec2, "us-west-2", { overrides: [own] })).toEqual({
    url: "http://127.0.0.1:5000",
    signingName: "ec2",
    signingRegion: "sim",
  });
});
