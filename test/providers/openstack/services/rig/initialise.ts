// Configures the services and fills their databases once: `bun initialise.ts PACKAGES FOLDER`, where FOLDER gets the differences
// from the packages. A project then has networks, an image and a user, and the services start quickly from there.

import { configure, urlOf } from "./configuration.ts";
import { seedCloud, seedIdentity } from "./seed.ts";
import { ServiceStack } from "./stack.ts";

const [packages = "", folder = ""] = process.argv.slice(2);
const stack = ServiceStack.mount([packages], folder);
configure(stack.root);

await stack.start("mariadb", "rabbitmq");
const databases = [
  "keystone",
  "glance",
  "nova",
  "nova_api",
  "nova_cell0",
  "placement",
  "neutron",
  "octavia",
  "cinder",
];
stack.sql("CREATE USER os@127.0.0.1 IDENTIFIED BY 'os'");
for (const name of databases) stack.sql(`CREATE DATABASE ${name}; GRANT ALL ON ${name}.* TO os@127.0.0.1`);
stack.runAsRabbit("rabbitmqctl await_startup");
stack.runAsRabbit("rabbitmqctl add_user os os");
stack.runAsRabbit("rabbitmqctl set_permissions os '.*' '.*' '.*'");

const cell0 = "mysql+pymysql://os:os@127.0.0.1/nova_cell0";
const urls = ["public", "internal", "admin"].flatMap((kind) => [
  `--bootstrap-${kind}-url`,
  `${urlOf("keystone")}/v3`,
]);
const owner = ["--keystone-user", "root", "--keystone-group", "root"];
const network = ["/etc/neutron/neutron.conf", "/etc/neutron/plugins/ml2/ml2_conf.ini"];

/** The commands of each list run in order, and the lists run at the same time. */
const work: readonly (readonly (readonly string[])[])[] = [
  [
    ["keystone-manage", "db_sync"],
    ["keystone-manage", "fernet_setup", ...owner],
    ["keystone-manage", "credential_setup", ...owner],
    [
      "keystone-manage",
      "bootstrap",
      "--bootstrap-password",
      "admin",
      "--bootstrap-region-id",
      "RegionOne",
      ...urls,
    ],
    ["glance-manage", "db_sync"],
    ["placement-manage", "db", "sync"],
    ["cinder-manage", "db", "sync"],
    ["octavia-db-manage", "--config-file", "/etc/octavia/octavia-api.conf", "upgrade", "head"],
  ],
  [
    ["neutron-db-manage", ...network.flatMap((file) => ["--config-file", file]), "upgrade", "head"],
    ["nova-manage", "api_db", "sync"],
    ["nova-manage", "cell_v2", "map_cell0", "--database_connection", cell0],
    ["nova-manage", "cell_v2", "create_cell", "--name", "cell1"],
    ["nova-manage", "db", "sync"],
  ],
];
await Promise.all(
  work.map(async (list) => {
    for (const command of list) await stack.runAside(command);
  }),
);
await stack.start("keystone");
await seedIdentity();
await stack.start("placement", "glance", "neutron", "octavia", "nova", "cinder");
await seedCloud();
stack.run(["mariadb-admin", "shutdown"]);
stack.runAsRabbit("rabbitmqctl stop");
process.exit(0);
