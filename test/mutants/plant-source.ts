import { registerHooks } from 'node:module'

/** Has this process, and nothing else, load a changed text of a source file. `file` is from the root of the project. */
export function plantSource(file: string, change: (code: string) => string): void {
  const url = new URL(`../../${file}`, import.meta.url).href
  registerHooks({
    load(asked, context, next) {
      const loaded = next(asked, context)
      if (asked !== url) return loaded
      const { source } = loaded
      if (source === undefined || source === null) throw new Error(`Expected the source of ${file}`)
      return { ...loaded, source: change(typeof source === 'string' ? source : new TextDecoder().decode(source)) }
    },
  })
}
