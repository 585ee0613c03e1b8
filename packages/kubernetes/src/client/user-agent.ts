import { createRequire } from 'node:module'
import { isJsonObject, stringAt } from '../json-object.ts'

/**
 * What requests of an election call themselves, so that they can be told apart in audit logs: `tenure/1.2.3 leader-election`, or
 * `tenure/unknown leader-election` where the package is not there to be asked, as in a program that was bundled.
 */
export function defaultUserAgent(): string {
  const packageJson = tryReadPackage()
  const version = isJsonObject(packageJson) ? stringAt(packageJson, 'version') : undefined
  return `tenure/${version ?? 'unknown'} leader-election`
}

function tryReadPackage(): unknown {
  try {
    return createRequire(import.meta.url)('../../package.json')
  } catch {
    return undefined
  }
}
