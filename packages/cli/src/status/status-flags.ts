import type { ClusterFlags } from '../add-command.ts'

/** The flags of `tenure status`. */
export interface StatusFlags extends ClusterFlags {
  readonly allNamespaces?: boolean
  readonly output?: 'wide' | 'json' | 'yaml'
  readonly watch?: boolean
}
