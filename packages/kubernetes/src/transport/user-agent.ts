import { createRequire } from 'node:module'
import { isJsonObject, stringAt } from './json-object.ts'

/** What requests of an election call themselves, so that they can be told apart in audit logs: `tenure/1.2.3 leader-election`. */
export function defaultUserAgent(): string {
  const packageJson: unknown = createRequire(import.meta.url)('../../package.json')
  const version = isJsonObject(packageJson) ? stringAt(packageJson, 'version') : undefined
  return `tenure/${version ?? 'unknown'} leader-election`
}
