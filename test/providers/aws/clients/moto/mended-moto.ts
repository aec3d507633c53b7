// moto behind a proxy that corrects the responses with which the Go manager fails or never settles, and records the requests.

import type { Seen } from "#ccm/testing";

type Parameters = URLSearchParams;

const emptyTopology =
  '<DescribeInstanceTopologyResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15"><instanceSet/></DescribeInstanceTopologyResponse>';
const noBalancer =
  '<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/"><Error><Type>Sender</Type><Code>LoadBalancerNotFound</Code><Message>There is no ACTIVE Load Balancer</Message></Error></ErrorResponse>';
const usualCheck =
  "<HealthCheck><Target>TCP:80</Target><Interval>30</Interval><Timeout>5</Timeout><UnhealthyThreshold>2</UnhealthyThreshold><HealthyThreshold>10</HealthyThreshold></HealthCheck>";

/** AWS accepts an instance twice in one request; moto answers with an error. */
function withoutRepeatedInstances(parameters: Parameters): Parameters {
  const isID = (name: string) => /^InstanceId\.\d+$/.test(name);
  const ids = [...new Set([...parameters].flatMap(([name, value]) => (isID(name) ? value : [])))];
  return new URLSearchParams([
    ...[...parameters].filter(([name]) => !isID(name)),
    ...ids.map((id, index): [string, string] => [`InstanceId.${index + 1}`, id]),
  ]);
}

/** Changes each part of a text that begins with `start`. */
const inEach = (text: string, start: string, change: (part: string) => string): string =>
  text
    .split(start)
    .map((part, index) => (index === 0 ? part : change(start + part)))
    .join("");

const textOf = (part: string, name: string): string =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(part)?.[1] ?? "";

/** The backend protocols of classic load balancers, by name and port. moto forgets them. */
class BackendProtocols {
  readonly #known = new Map<string, string>();

  note(parameters: Parameters): void {
    const lb = parameters.get("LoadBalancerName");
    for (const [name, port] of parameters) {
      const prefix = /^(Listeners\.member\.\d+\.)LoadBalancerPort$/.exec(name)?.[1];
      const protocol = parameters.get(`${prefix}InstanceProtocol`);
      if (prefix !== undefined && protocol !== null) this.#known.set(`${lb}:${port}`, protocol);
    }
  }

  restored(text: string): string {
    return inEach(text, "<member><LoadBalancerName>", (part) => {
      const lb = textOf(part, "LoadBalancerName");
      const shown = inEach(part, "<Listener>", (listener) => {
        const protocol = this.#known.get(`${lb}:${textOf(listener, "LoadBalancerPort")}`);
        const written = `<InstanceProtocol>${protocol}</InstanceProtocol>`;
        return protocol === undefined
          ? listener
          : listener.replace(/<InstanceProtocol>[^<]*<\/InstanceProtocol>/, written);
      });
      return shown.includes("<HealthCheck>") ? shown : shown.replace("<Instances", `${usualCheck}<Instances`);
    });
  }
}

/** Only TLS has a policy. */
const withoutPolicies = (text: string): string =>
  inEach(text, "<member><ListenerArn>", (part) =>
    textOf(part, "Protocol") === "TLS" ? part : part.replace(/<SslPolicy>[^<]*<\/SslPolicy>/, ""),
  );

/** The attributes of the target groups of network load balancers. */
function withNetworkAttributes(text: string): string {
  const usual = { "preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false" };
  const missing = Object.entries(usual).filter(([key]) => !text.includes(`<Key>${key}</Key>`));
  const members = missing.map(([key, value]) => `<member><Key>${key}</Key><Value>${value}</Value></member>`);
  return text.replace("<Attributes>", `<Attributes>${members.join("")}`);
}

/** In moto, the names of load balancers of both kinds have the same form; the Go manager distinguishes the kinds by the name. */
const withNetworkNames = (text: string): string =>
  text.replaceAll(/(<DNSName>[^<]+)\.([a-z0-9-]+)\.elb\.amazonaws\.com/g, "$1.elb.$2.amazonaws.com");

/** The target group of each changed listener, by ARN: moto does not show which load balancer uses this group. */
export type SwitchedGroups = Map<string, string>;

function noteSwitch(parameters: Parameters, switched: SwitchedGroups): void {
  const group = parameters.get("DefaultActions.member.1.TargetGroupArn");
  if (group !== null) switched.set(parameters.get("ListenerArn") ?? "", group);
}

const groupsEnd = "</TargetGroups>";

/** Adds the load balancers to all target groups. `wanted`: only those of this load balancer. */
function withBalancers(text: string, switched: SwitchedGroups, wanted: string | null): string {
  const listeners = new Map([...switched].map(([listener, group]) => [group, listener]));
  const [all = "", end = ""] = text.split(groupsEnd);
  const [start = "", ...groups] = all.split(/(?=<member>\s*<TargetGroupArn>)/);
  const shown = groups.map((group) => {
    const listener = listeners.get(textOf(group, "TargetGroupArn"));
    const balancer = listener?.replace(":listener/", ":loadbalancer/").replace(/\/[^/]+$/, "");
    const arns = `<LoadBalancerArns><member>${balancer}</member></LoadBalancerArns>`;
    return balancer === undefined
      ? group
      : group.replace(/<LoadBalancerArns *(\/|>.*?<\/LoadBalancerArns)>/s, arns);
  });
  const isWanted = (group: string) => wanted === null || group.includes(`<member>${wanted}</member>`);
  return [start, ...shown.filter(isWanted), groupsEnd, end].join("");
}

const services: Readonly<Record<string, string>> = {
  "2016-11-15": "ec2",
  "2012-06-01": "elb",
  "2015-12-01": "elbv2",
};

export class MendedMoto implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #moto: string;
  readonly #switched: SwitchedGroups;
  readonly #protocols = new BackendProtocols();
  readonly #server: ReturnType<typeof Bun.serve>;

  /** `switched`: the changes that another proxy has seen. */
  constructor(moto: string, switched: SwitchedGroups = new Map()) {
    this.#moto = moto;
    this.#switched = switched;
    this.#server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#answer(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  forget(): void {
    this.seen.length = 0;
  }

  async #answer(request: Request): Promise<Response> {
    const sent = new URLSearchParams(await request.text());
    const operation = `${services[sent.get("Version") ?? ""]}:${sent.get("Action")}`;
    const mutates = !/:(Describe|Get)/.test(operation);
    const parameters =
      operation === "ec2:DescribeInstances" ? withoutRepeatedInstances(sent) : new URLSearchParams(sent);
    if (operation === "elbv2:DescribeTargetGroups") parameters.delete("LoadBalancerArn");
    const { status, text } = await this.#ask(operation, parameters, request);
    this.seen.push({ operation, path: "/", mutates, status, body: Object.fromEntries(sent) });
    return new Response(this.#mended(operation, sent, text), {
      status,
      headers: { "content-type": "text/xml" },
    });
  }

  async #ask(operation: string, parameters: Parameters, request: Request) {
    if (operation === "ec2:DescribeInstanceTopology") return { status: 200, text: emptyTopology };
    if (operation.startsWith("elb:Create")) this.#protocols.note(parameters);
    if (operation === "elbv2:ModifyListener") noteSwitch(parameters, this.#switched);
    const headers = { authorization: request.headers.get("authorization") ?? "" };
    const response = await fetch(this.#moto, { method: "POST", body: parameters, headers });
    const { status } = response;
    const text = await response.text();
    // moto fails for a load balancer that does not exist.
    const isMissing = operation === "elb:DescribeLoadBalancerAttributes" && status === 500;
    return isMissing ? { status: 400, text: noBalancer } : { status, text };
  }

  #mended(operation: string, sent: Parameters, text: string): string {
    if (operation === "elb:DescribeLoadBalancers") return this.#protocols.restored(text);
    if (operation === "elbv2:DescribeListeners") return withoutPolicies(text);
    if (operation === "elbv2:DescribeTargetGroups")
      return withBalancers(text, this.#switched, sent.get("LoadBalancerArn"));
    if (operation === "elbv2:DescribeTargetGroupAttributes") return withNetworkAttributes(text);
    return operation.startsWith("elbv2:") ? withNetworkNames(text) : text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
