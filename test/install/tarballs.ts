import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { succeed } from './command.ts'

export const ROOT: string = join(import.meta.dirname, '../..')

/** The packages as they would be published: the tarball of each name. */
export type Tarballs = ReadonlyMap<string, string>

/** Builds and packs all packages into a folder. */
export async function packAll(folder: string): Promise<Tarballs> {
  await succeed('npm', ['run', 'build'], { cwd: ROOT })
  const packages = readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name))
  await succeed('npm', ['pack', '--pack-destination', folder, ...packages], { cwd: ROOT })
  return new Map(packages.map((path) => tarballOf(path, folder)))
}

function tarballOf(path: string, folder: string): readonly [name: string, file: string] {
  const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, string>
  if (name === undefined) throw new Error(`The package in ${path} has no name`)
  return [name, join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)]
}
