import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { TransportRequest } from "../../../src/platform/transport.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Traces of a whole manager, sent to a collector that the test implements.

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status?: { readonly code: number; readonly message: string };
}

class Collector {
  readonly requests: TransportRequest[] = [];
  status = 200;
  readonly world: ServiceWorld;

  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.world = new ServiceWorld({
      nodes: 0,
      environment,
      cloud: (clock) => {
        const cloud = asTransport(new FakeCloud({ clock, latency: milliseconds(20) }));
        return async (request, signal) => {
          if (new URL(request.url).hostname !== "collector") return cloud(request, signal);
          this.requests.push(request);
          return new Response("{}", { status: this.status });
        };
      },
    });
  }

  get spans(): readonly SentSpan[] {
    return this.requests.flatMap(({ body }) =>
      JSON.parse(String(body)).resourceSpans.flatMap((each: { scopeSpans: { spans: SentSpan[] }[] }) =>
        each.scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  }

  /** The attributes of the process, by name. */
  get resource(): Readonly<Record<string, unknown>> {
    const { resource } = JSON.parse(String(this.requests[0]?.body)).resourceSpans[0];
    return Object.fromEntries(
      resource.attributes.map(({ key, value }: { key: string; value: { stringValue: string } }) => [
        key,
        value.stringValue,
      ]),
    );
  }

  named(name: string): readonly SentSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}

const endpoint = "--tracing-endpoint=http://collector:4318/";

test("sends a span for each reconcile, with its requests as children [F88]", async () => {
  const collector = new Collector();
  const { world } = collector;
  await world.start(endpoint);
  world.create("shop");
  await world.pass(30);
  expect(collector.requests[0]?.url).toBe("http://collector:4318/v1/traces");
  const [creation] = collector.named("POST /balancers");
  const reconcile = collector.spans.find(({ spanId }) => spanId === creation?.parentSpanId);
  expect(reconcile?.name).toBe("reconcile service");
  expect(reconcile?.traceId).toBe(String(creation?.traceId));
  expect(reconcile?.attributes).toContainEqual({
    key: "fairlead.key",
    value: { stringValue: expect.any(String) },
  });
  const nanoseconds = (span: SentSpan | undefined) =>
    Number(BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0));
  expect(nanoseconds(creation)).toBe(20_000_000);
  expect(nanoseconds(reconcile)).toBeGreaterThanOrEqual(20_000_000);
  expect(collector.spans.map(({ name }) => name)).toContain("patch services/status");
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
});

test("sends the API server a traceparent that names the span of the request [F88]", async () => {
  const collector = new Collector();
  const { world } = collector;
  const sent: [path: string, traceparent: string | undefined][] = [];
  world.kubeFault = (_, path, { headers }) => {
    sent.push([path, headers?.["traceparent"]]);
    return undefined;
  };
  await world.start(endpoint);
  world.create("shop");
  await world.pass(30);
  const spans = collector.named("patch services/status");
  expect(spans.length).toBeGreaterThan(0);
  expect(sent.flatMap(([path, header]) => (path.endsWith("/services/shop/status") ? [header] : []))).toEqual(
    spans.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
  );
  expect(spans.every(({ parentSpanId }) => parentSpanId !== undefined)).toBe(true);
});

test("reports a failed request in its span", async () => {
  const collector = new Collector();
  const { world } = collector;
  world.kubeFault = (method) => (method === "PATCH" ? new Response("{}", { status: 500 }) : undefined);
  await world.start(endpoint);
  world.create("shop");
  await world.pass(10);
  const failed = collector.spans.filter(({ status }) => status !== undefined);
  expect(failed.map(({ status }) => status)).toContainEqual({ code: 2, message: "500" });
});

test("a failing collector loses spans and causes one warning [F88]", async () => {
  const collector = new Collector();
  const { world } = collector;
  collector.status = 503;
  await world.start(endpoint);
  world.create("shop");
  await world.pass(60);
  expect(world.addressesOf("shop")).toHaveLength(1);
  const lines = () => world.logged.filter((line) => line.includes("http://collector:4318/v1/traces"));
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).toContain("Traces cannot be sent to http://collector:4318/v1/traces: status 503.");
  expect(world.manager.metrics.text()).toMatch(/fairlead_trace_spans_total\{result="dropped"\} [1-9]/);
  collector.status = 200;
  world.create("other");
  await world.pass(20);
  expect(lines()[1]).toContain("again");
  expect(world.manager.metrics.text()).toMatch(/fairlead_trace_spans_total\{result="exported"\} [1-9]/);
});

test("sends the remaining spans when the manager ends", async () => {
  const collector = new Collector();
  const { world } = collector;
  await world.start(endpoint);
  await world.pass(20);
  world.create("shop");
  await world.pass(0.5);
  const before = collector.named("POST /balancers").length;
  await world.stop();
  expect([before, collector.named("POST /balancers").length]).toEqual([0, 1]);
});

test("records the requested share of traces", async () => {
  const collector = new Collector();
  const traceparents = new Set<string | undefined>();
  collector.world.kubeFault = (_, __, { headers }) => {
    traceparents.add(headers?.["traceparent"]);
    return undefined;
  };
  await collector.world.start(endpoint, "--tracing-sampling-rate-per-million=0");
  collector.world.create("shop");
  await collector.world.pass(30);
  expect(collector.requests).toEqual([]);
  expect(traceparents).toEqual(new Set([undefined]));
});

const variables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
  OTEL_EXPORTER_OTLP_HEADERS: "X-Key=a%20b,other=c=d",
  OTEL_SERVICE_NAME: "ccm",
  OTEL_RESOURCE_ATTRIBUTES: "service.name=other,k8s.cluster.name=prod%2C1,team=infra",
};

test.each([
  [{}, [], "http://collector:4318/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector/own" }, [], "http://collector/own"],
  [
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector/own" },
    [endpoint],
    "http://collector:4318/v1/traces",
  ],
])("uses the endpoint from flags first, then from variables: %j %j", async (more, flags, expected) => {
  const collector = new Collector({ ...variables, ...more });
  await collector.world.start(...flags);
  await collector.world.pass(30);
  expect(collector.requests[0]?.url).toBe(expected);
});

test("describes the process with the OpenTelemetry variables [F88]", async () => {
  const collector = new Collector(variables);
  await collector.world.start();
  await collector.world.pass(30);
  expect(collector.requests[0]?.headers).toMatchObject({ "x-key": "a b", other: "c=d" });
  expect(collector.resource).toMatchObject({
    "service.name": "ccm",
    "service.version": expect.any(String),
    "k8s.cluster.name": "prod,1",
    team: "infra",
  });
});

test.each([{ OTEL_SDK_DISABLED: "true" }, { OTEL_TRACES_EXPORTER: "none" }])(
  "sends no traces with %j",
  async (off) => {
    const collector = new Collector({ ...variables, ...off });
    await collector.world.start();
    await collector.world.pass(30);
    expect(collector.requests).toEqual([]);
  },
);

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:secret@collector", "must not contain a user", 0],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "must be a URL such as", 0],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "Fairlead sends traces with http/json only", 0],
  ["OTEL_RESOURCE_ATTRIBUTES", "team=%ZZ", "must be percent-encoded pairs", 1],
  ["OTEL_EXPORTER_OTLP_HEADERS", "authorization", "must be percent-encoded pairs", 1],
])("warns about %s=%s, and uses the other variables", async (name, value, text, least) => {
  const collector = new Collector({ ...variables, [name]: value });
  await collector.world.start();
  await collector.world.pass(30);
  const lines = collector.world.logged.filter((line) => line.includes(name));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(text);
  expect(lines[0]).not.toContain("secret");
  expect(Math.min(collector.requests.length, 1)).toBe(least);
});

test("sends nothing without an endpoint", async () => {
  const collector = new Collector();
  await collector.world.start();
  collector.world.create("shop");
  await collector.world.pass(30);
  expect(collector.requests).toEqual([]);
});

test.each([
  ["collector:4318", 'must be a URL such as http://127.0.0.1:4318, got "collector:4318"'],
  ["ftp://user:secret@collector", 'must be a URL such as http://127.0.0.1:4318, got "***@collector"'],
  ["https://user:secret@collector", "must not contain a user, a password or a query, because it is logged"],
])("rejects the endpoint %s", (value, text) => {
  const { problems } = readFlags([`--tracing-endpoint=${value}`]);
  expect(problems.map((problem) => problem.text).join()).toContain(text);
  expect(problems.map((problem) => problem.text).join()).not.toContain("secret");
});
