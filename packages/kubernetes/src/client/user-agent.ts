import { createRequire } from 'node:module'
import { isJsonObject, stringAt } from '../json-object.ts'

/**
 * The user agent of the requests of an election, for audit logs: `tenure/1.2.3 leader-election`, or `tenure/unknown leader-election`
 * if package.json is missing, as in a bundled program.
 */
export function defaultUserAgent(): string {
  const packageJson = tryReadPackage()
  const version = isJsonObject(packageJson) ? stringAt(packageJson, 'version') : undefined
  return `tenure/${version ?? 'unknown'} leader-election`
}

function tryReadPackage(): unknown {
  try {
    return createRequire(import.meta.url)('@tenure/kubernetes/package.json')
  } catch {
    return undefined
  }
}
