import type { Described, ResourceFacts } from './resource-facts.ts'
import { isRefOf } from './resource-facts.ts'

/** Watchers and directory handles. Open files are seen elsewhere, by their descriptor. */
export function describeFileResource({ type, resource }: ResourceFacts): Described {
  switch (type) {
    case 'FSEVENTWRAP':
    case 'STATWATCHER':
      return { kind: 'fs-watcher', isRef: isRefOf(resource) }
    case 'DIRHANDLE':
      return { kind: 'directory-handle' }
    default:
      return undefined
  }
}
