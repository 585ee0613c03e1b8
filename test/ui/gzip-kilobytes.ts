import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** What a browser loads from a folder, compressed file by file. */
export function gzipKilobytes(folder: string): number {
  const files = readdirSync(folder).filter((name) => /\.(html|css|js|svg)$/.test(name))
  return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0) / 1024
}
