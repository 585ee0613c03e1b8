import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const PACKAGE = '@tenure/cli'

/** The file of the command of `@tenure/cli`, as one of these folders resolves it; undefined if it is not installed. */
export function findCommand(folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    const path = resolveFrom(folder)
    if (path === undefined) continue
    const { bin } = JSON.parse(String(readFileSync(path))) as { readonly bin?: Readonly<Record<string, string>> }
    const name = bin?.['tenure']
    const command = name === undefined ? undefined : join(dirname(path), name)
    if (command !== undefined && existsSync(command)) return command
  }
  return undefined
}

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'package.json')).resolve(`${PACKAGE}/package.json`)
  } catch {
    return undefined
  }
}

/** The arguments with which npm runs the command of the same version as this package. */
export function npmArguments(args: readonly string[]): readonly string[] {
  const { version } = createRequire(import.meta.url)('../package.json') as { readonly version: string }
  return ['exec', '--yes', `--package=${PACKAGE}@${version}`, '--', 'tenure', ...args]
}
