export function decompress(bytes: Uint8Array, result: Uint8Array): Uint8Array;
export function getTreePath(tree: any, path: string[]): any[];
export function parquetMetadata(buffer: ArrayBuffer): any;
export function parquetSchema(metadata: any): any;
export function readColumn(reader: any, select: any, decoder: any): { data: ArrayLike<unknown>[]; skipped: number };
