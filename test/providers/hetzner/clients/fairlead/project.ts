// The project of the scenario as any other client reaches it, through the endpoint that the manager uses.

import type {
  ApiCertificate,
  ApiLoadBalancer,
  ApiNetwork,
} from "../../../../../providers/hetzner/resources.ts";

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "")
    throw new Error(`${name} is not set. Run the scenario with: npm run test:clients -- fairlead`);
  return value;
}

export const endpoint = required("FAIRLEAD_ENDPOINT");
export const token = required("FAIRLEAD_TOKEN");
const pem = { certificate: required("FAIRLEAD_CERTIFICATE"), private_key: required("FAIRLEAD_KEY") };

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${endpoint}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

export async function addNetwork(name: string): Promise<number> {
  const subnet = (ip_range: string) => ({ type: "cloud", ip_range, network_zone: "eu-central" });
  const body = { name, ip_range: "10.0.0.0/8", subnets: [subnet("10.0.0.0/24"), subnet("10.0.1.0/24")] };
  return (await ask<{ readonly network: ApiNetwork }>("POST", "/networks", body)).network.id;
}

export async function addServer(name: string, network: number): Promise<number> {
  const body = { name, server_type: "cx23", image: "debian-12", location: "fsn1", networks: [network] };
  return (await ask<{ readonly server: { readonly id: number } }>("POST", "/servers", body)).server.id;
}

export async function uploadCertificate(name: string): Promise<number> {
  const body = { name, type: "uploaded", ...pem };
  return (await ask<{ readonly certificate: ApiCertificate }>("POST", "/certificates", body)).certificate.id;
}

export async function routes(network: number): Promise<ApiNetwork["routes"]> {
  return (await ask<{ readonly network: ApiNetwork }>("GET", `/networks/${network}`)).network.routes;
}

export async function certificates(): Promise<readonly ApiCertificate[]> {
  return (await ask<{ readonly certificates: readonly ApiCertificate[] }>("GET", "/certificates"))
    .certificates;
}

/** The load balancer of the Service with this uid. */
export async function balancerOf(uid: string): Promise<ApiLoadBalancer | undefined> {
  const selector = encodeURIComponent(`hcloud-ccm/service-uid==${uid}`);
  const path = `/load_balancers?label_selector=${selector}`;
  const { load_balancers } = await ask<{ readonly load_balancers: readonly ApiLoadBalancer[] }>("GET", path);
  return load_balancers[0];
}

export async function balancers(): Promise<readonly ApiLoadBalancer[]> {
  const page = async (number: number) => {
    const path = `/load_balancers?per_page=50&page=${number}`;
    return (await ask<{ readonly load_balancers: readonly ApiLoadBalancer[] }>("GET", path)).load_balancers;
  };
  return [...(await page(1)), ...(await page(2)), ...(await page(3))];
}
