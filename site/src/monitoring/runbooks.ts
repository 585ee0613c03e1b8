const NOTE = 'Paths that begin with `docs/` lead into the documents of Tenure, which are not in this package.'

/**
 * The page of the runbooks as the package has it. Other documents are not in the package, so a link to one of them becomes its path, for
 * the reader to look up.
 */
export function shippedRunbooks(page: string): string {
  const [title = '', introduction = '', ...sections] = page.split('\n\n')
  const text = sections.join('\n\n').replaceAll(/\[([^\]]+)\]\(([^)#\s]+[^)\s]*)\)/g, '$1 (`docs/$2`)')
  return [title, `${introduction} ${NOTE}`, text].join('\n\n')
}
