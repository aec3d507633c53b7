// Operations on block devices, mount points and file systems of this machine that no program performs. Tests replace this.

export interface DiskPath {
  readonly kind: "block" | "folder" | "file" | "other";
  /** The number of a block device. */
  readonly device: number;
}

export interface Usage {
  readonly total: number;
  readonly available: number;
  readonly used: number;
}

/** An open device. While it is open, no other device gets its path, even if the machine loses the device. */
export interface HeldDevice extends AsyncDisposable {
  /** The path without links, such as `/dev/sdb`. */
  readonly path: string;
  readonly descriptor: number;
}

export interface Disks {
  /** The object at the path, following links; undefined if it does not exist. */
  stat(path: string): Promise<DiskPath | undefined>;
  /** Opens the device to which a link points. Undefined if the link changes in the meantime. */
  hold(path: string): Promise<HeldDevice | undefined>;
  /** Resolves symbolic links. */
  realPath(path: string): Promise<string>;
  makeFolder(path: string): Promise<void>;
  /** Creates an empty file for the bind mount of a device, and its folder. */
  makeFile(path: string): Promise<void>;
  /** Removes an empty folder or an empty file. Anything else stays, and the call rejects. */
  removeEmpty(path: string): Promise<void>;
  /** The first bytes of a device. */
  head(path: string, length: number): Promise<Uint8Array>;
  /** Statistics of the file system at the path. */
  usage(path: string): Promise<{ readonly bytes: Usage; readonly inodes: Usage }>;
}
