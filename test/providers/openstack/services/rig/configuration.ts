// The configuration files of the services: one machine, loopback only, no hypervisor, no agents and no amphorae.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../../../tools/rig/cached.ts";

export const ports = {
  keystone: 5000,
  glance: 9292,
  placement: 8778,
  nova: 8774,
  neutron: 9696,
  octavia: 9876,
  cinder: 8776,
} as const;
const host = "127.0.0.1";
export const urlOf = (service: keyof typeof ports): string => `http://${host}:${ports[service]}`;
const queue = `rabbit://os:os@${host}:5672/`;

type Sections = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

function ini(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, values]) =>
      [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${value}`)].join("\n"),
    )
    .join("\n");
}

const database = (name: string) => ({ connection: `mysql+pymysql://os:os@${host}/${name}` });

const account = (username: string) => ({
  auth_url: `${urlOf("keystone")}/v3`,
  auth_type: "password",
  username,
  password: "svc",
  project_name: "service",
  user_domain_id: "default",
  project_domain_id: "default",
  region_name: "RegionOne",
});

const tokens = (username: string) => ({
  www_authenticate_uri: `${urlOf("keystone")}/v3`,
  service_token_roles_required: "false",
  // A revoked token is rejected soon.
  token_cache_time: 5,
  ...account(username),
});

const octavia = (networkDriver: string): Sections => ({
  DEFAULT: { transport_url: queue, log_dir: "/var/log/octavia" },
  api_settings: {
    bind_host: host,
    bind_port: ports.octavia,
    auth_strategy: "keystone",
    api_base_uri: urlOf("octavia"),
    enabled_provider_drivers: "amphora:amphora",
    default_provider_driver: "amphora",
  },
  database: database("octavia"),
  health_manager: { heartbeat_key: "insecure" },
  controller_worker: {
    amphora_driver: "amphora_noop_driver",
    compute_driver: "compute_noop_driver",
    network_driver: networkDriver,
    image_driver: "image_noop_driver",
    volume_driver: "volume_noop_driver",
    amp_flavor_id: 1,
    distributor_driver: "distributor_noop_driver",
    client_ca: "/etc/octavia/ca.pem",
    workers: 1,
    amp_boot_network_list: "00000000-0000-0000-0000-000000000001",
  },
  certificates: {
    cert_manager: "noop_cert_manager",
    cert_generator: "local_cert_generator",
    ca_certificate: "/etc/octavia/ca.pem",
    ca_private_key: "/etc/octavia/ca.key",
    ca_private_key_passphrase: "foobar",
  },
  oslo_messaging: { topic: "octavia_prov" },
  service_auth: account("octavia"),
  keystone_authtoken: tokens("octavia"),
});

const files: Readonly<Record<string, Sections>> = {
  "keystone/keystone.conf": {
    DEFAULT: { log_dir: "/var/log/keystone" },
    database: database("keystone"),
    token: { provider: "fernet" },
  },
  "glance/glance-api.conf": {
    DEFAULT: { bind_host: host, workers: 1, log_file: "/var/log/glance/glance-api.log" },
    database: database("glance"),
    paste_deploy: { flavor: "keystone" },
    glance_store: {
      stores: "file",
      default_store: "file",
      filesystem_store_datadir: "/var/lib/glance/images/",
    },
    keystone_authtoken: tokens("glance"),
  },
  "placement/placement.conf": {
    api: { auth_strategy: "keystone" },
    placement_database: database("placement"),
    keystone_authtoken: tokens("placement"),
  },
  "nova/nova.conf": {
    DEFAULT: {
      transport_url: queue,
      my_ip: host,
      host: "fakehost",
      compute_driver: "fake.FakeDriver",
      log_dir: "/var/log/nova",
      state_path: "/var/lib/nova",
      enabled_apis: "osapi_compute",
      osapi_compute_listen: host,
      osapi_compute_workers: 1,
    },
    api: { auth_strategy: "keystone" },
    api_database: database("nova_api"),
    database: database("nova"),
    conductor: { workers: 1 },
    scheduler: { workers: 1 },
    glance: { api_servers: urlOf("glance") },
    neutron: account("neutron"),
    placement: account("placement"),
    cinder: account("cinder"),
    // Cinder lets only Nova detach attached volumes.
    service_user: { ...account("nova"), send_service_user_token: "true" },
    oslo_concurrency: { lock_path: "/var/lib/nova/tmp" },
    workarounds: { disable_compute_service_check_for_ffu: "true" },
    keystone_authtoken: tokens("nova"),
  },
  "neutron/neutron.conf": {
    DEFAULT: {
      transport_url: queue,
      core_plugin: "ml2",
      service_plugins: "router,trunk,port_forwarding,qos",
      bind_host: host,
      api_workers: 1,
      rpc_workers: 1,
      log_dir: "/var/log/neutron",
      state_path: "/var/lib/neutron",
      notify_nova_on_port_status_changes: "true",
    },
    database: database("neutron"),
    nova: account("nova"),
    oslo_concurrency: { lock_path: "/var/lib/neutron/tmp" },
    keystone_authtoken: tokens("neutron"),
  },
  "neutron/plugins/ml2/ml2_conf.ini": {
    ml2: {
      type_drivers: "flat,local,vxlan",
      tenant_network_types: "vxlan",
      extension_drivers: "port_security,qos",
      mechanism_drivers: "openvswitch,everywhere",
    },
    ml2_type_flat: { flat_networks: "physnet1" },
    ml2_type_vxlan: { vni_ranges: "1:1000" },
  },
  "cinder/cinder.conf": {
    DEFAULT: {
      transport_url: queue,
      my_ip: host,
      host: "fakehost",
      auth_strategy: "keystone",
      osapi_volume_workers: 1,
      enabled_backends: "nowhere",
      glance_api_servers: urlOf("glance"),
      log_dir: "/var/log/cinder",
      state_path: "/var/lib/cinder",
    },
    nowhere: { volume_driver: "fairlead_cinder.Nowhere", volume_backend_name: "nowhere" },
    database: database("cinder"),
    nova: account("cinder"),
    oslo_concurrency: { lock_path: "/var/lib/cinder/tmp" },
    keystone_authtoken: { ...tokens("cinder"), service_token_roles: "admin" },
  },
  // The API creates the port of the virtual IP, and the worker creates nothing at all.
  "octavia/octavia-api.conf": octavia("allowed_address_pairs_driver"),
  "octavia/octavia-worker.conf": octavia("network_noop_driver"),
};

/** Without agents no port would be bound, and no server would start. */
const portDriver = `from neutron_lib.plugins.ml2 import api


class Everywhere(api.MechanismDriver):
    def initialize(self):
        pass

    def bind_port(self, context):
        for segment in context.segments_to_bind[:1]:
            context.set_binding(segment[api.ID], "ovs", {"port_filter": False}, status="ACTIVE")
`;

/** Volumes without storage: Nova's driver does not look for them. */
const volumeDriver = `from cinder.volume import driver


class Nowhere(driver.VolumeDriver):
    VERSION = "1"

    def nothing(self, *args, **kwargs):
        return None

    check_for_setup_error = ensure_export = create_export = remove_export = nothing
    create_volume = delete_volume = extend_volume = terminate_connection = nothing
    create_snapshot = delete_snapshot = create_volume_from_snapshot = create_cloned_volume = nothing

    def initialize_connection(self, volume, connector, **kwargs):
        return {"driver_volume_type": "fake", "data": {"volume_id": volume["id"]}}

    def get_volume_stats(self, refresh=False):
        return {
            "volume_backend_name": "nowhere",
            "vendor_name": "none",
            "driver_version": "1",
            "storage_protocol": "fake",
            "total_capacity_gb": 1000,
            "free_capacity_gb": 1000,
            "multiattach": True,
            "online_extend_support": True,
        }
`;

export function configure(root: string): void {
  for (const [path, sections] of Object.entries(files))
    writeFileSync(join(root, "etc", path), `${ini(sections)}\n`);
  const modules = join(root, "usr/lib/python3/dist-packages");
  const information = join(modules, "fairlead_ml2-1.dist-info");
  mkdirSync(information, { recursive: true });
  writeFileSync(join(modules, "fairlead_ml2.py"), portDriver);
  writeFileSync(join(information, "METADATA"), "Metadata-Version: 2.1\nName: fairlead-ml2\nVersion: 1\n");
  writeFileSync(join(modules, "fairlead_cinder.py"), volumeDriver);
  const points = "[neutron.ml2.mechanism_drivers]\neverywhere = fairlead_ml2:Everywhere\n";
  writeFileSync(join(information, "entry_points.txt"), points);
  const [key, certificate] = ["ca.key", "ca.pem"].map((name) => join(root, "etc/octavia", name));
  const subject = ["-subj", "/CN=test", "-passout", "pass:foobar", "-days", "3650"];
  const output = ["-keyout", key ?? "", "-out", certificate ?? ""];
  run(["openssl", "req", "-x509", "-newkey", "rsa:2048", ...subject, ...output], root);
  for (const file of [key, certificate]) chmodSync(file ?? "", 0o644);
  for (const folder of [
    "var/lib/nova/tmp",
    "var/lib/neutron/tmp",
    "var/lib/cinder/tmp",
    "var/lib/glance/images",
    "run/octavia",
    "run/mysqld",
  ])
    mkdirSync(join(root, folder), { recursive: true });
}
