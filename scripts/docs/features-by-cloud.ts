// The differences between clouds, for docs/features.md. Data only; the page of a cloud has the details.

const clouds = ["Hetzner", "DigitalOcean", "OpenStack", "AWS", "Rancher", "vSphere"] as const;

type Row = readonly [feature: string, ...byCloud: readonly string[]];

const no = "–";

const rows: readonly Row[] = [
  ["Nodes", "servers, dedicated servers", "droplets", "servers", "instances", "hosts", "virtual machines"],
  ["Labels and taints of machines on Nodes", "labels", "tags", "metadata, tags", "tags", "host labels", no],
  ["Load balancers", "yes", "yes", "Octavia", "classic, network", "yes", no],
  ["Several Services on one", "by name and opt-in", no, "by id", no, no, no],
  ["Targets that leave are drained", no, no, "weight 0", "by the cloud", no, no],
  ["Health of targets", "from listings", no, "from plans", "from plans, on demand", no, no],
  ["Load balancers without listing Nodes", "yes", "some set-ups", "some set-ups", "some set-ups", "yes", no],
  ["Pod routes", "network", no, "router", "route table", no, no],
  ["Firewall of the Nodes", no, "yes", "security groups", "security groups", no, no],
  ["Volumes", "yes", "yes", "yes", "yes", no, no],
  ["Snapshots", no, "yes", "yes", "yes", no, no],
  ["Changes as they happen", no, no, no, no, "yes", no],
];

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** One row for each feature that not every cloud has in the same way. */
export const featuresByCloud: readonly string[] = [
  "## By cloud",
  "",
  line(["", ...clouds]),
  `|${"---|".repeat(clouds.length + 1)}`,
  ...rows.map(line),
  "",
];
