// Asks the endpoint's own pages. An error has the endpoint's words.

/** The JSON of a page below `/_torpor/`, with these query parameters. */
export async function json(page, parameters = {}, options = {}) {
  const query = new URLSearchParams(parameters).toString();
  const answer = await fetch(`/_torpor/${page}${query && `?${query}`}`, options);
  if (!answer.ok) throw new Error((await answer.text()) || `HTTP ${answer.status}`);
  return answer.json();
}
