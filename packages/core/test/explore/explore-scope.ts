import { argv } from 'node:process'
import { explore, type SentExploration } from './explore.ts'
import { exploreInFiles } from './explore-in-files.ts'
import { SCOPES } from './scopes.ts'

/* Explores one scope and sends the result to the parent process. With a folder and a hash of the sources, in files, and sends the number of worlds now and then. */
const [, , index, states, folder, sources = ''] = argv
// Every failed request is an error. Nobody reads its stack.
Error.stackTraceLimit = 0
const scope = SCOPES[Number(index)]?.scope
if (scope === undefined) throw new Error(`There is no scope ${index}`)
const options = { scope, states: Number(states) }
const onProgress = (worlds: number): void => void process.send?.(worlds)
const exploration =
  folder === undefined ? explore(options) : exploreInFiles({ ...options, folder, sources, onProgress })
const sent: SentExploration = { ...exploration, cells: [...exploration.cells] }
process.send?.(sent)
