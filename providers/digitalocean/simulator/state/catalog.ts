// The cloud's catalog: regions and droplet sizes.

const sizes = ["s-1vcpu-2gb", "s-2vcpu-4gb", "s-4vcpu-8gb", "c-8"];
const features = ["backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"];

function region(slug: string, name: string) {
  return { name, slug, features, available: true, sizes };
}

export const regions = [
  region("nyc3", "New York 3"),
  region("fra1", "Frankfurt 1"),
  region("ams3", "Amsterdam 3"),
  region("sfo3", "San Francisco 3"),
];

export type Region = (typeof regions)[number];

export function findRegion(slug: string): Region | undefined {
  return regions.find((each) => each.slug === slug);
}

/** The API representation of a droplet size. */
export function sizeOf(slug: string) {
  const [, vcpus = "2", gigabytes = "4"] = /(\d+)vcpu-(\d+)gb/.exec(slug) ?? [];
  const memory = Number(gigabytes) * 1024;
  const prices = { price_monthly: 24, price_hourly: 0.035_71, transfer: 4 };
  const shown = { slug, memory, vcpus: Number(vcpus), disk: 80, ...prices };
  return { ...shown, regions: regions.map((each) => each.slug), available: true, description: "Basic" };
}
