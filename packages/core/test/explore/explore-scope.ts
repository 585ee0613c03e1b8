import { argv } from 'node:process'
import { explore } from './explore.ts'
import type { SentExploration } from './main.ts'
import { SCOPES } from './scopes.ts'

/* Explores one scope and sends the result to the parent process. */
const scope = SCOPES[Number(argv[2])]?.scope
if (scope === undefined) throw new Error(`There is no scope ${argv[2]}`)
const exploration = explore({ scope, states: Number(argv[3]) })
const sent: SentExploration = { ...exploration, cells: [...exploration.cells] }
process.send?.(sent)
