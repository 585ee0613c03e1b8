import { type Described, isRefOf, type ResourceFacts } from './resource-facts.ts'

/** Watchers of files and folders. Open ones are seen elsewhere, by what opens and closes them. */
export function describeFileResource({ type, resource }: ResourceFacts): Described {
  if (type !== 'FSEVENTWRAP' && type !== 'STATWATCHER') return undefined
  return { kind: 'fs-watcher', isRef: isRefOf(resource) }
}
