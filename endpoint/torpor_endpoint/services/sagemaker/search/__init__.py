"""Search and GetSearchSuggestions, over the records that other operations describe."""
