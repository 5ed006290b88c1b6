"""The generator of samples: invented subjects, descriptions of them, and questions that need part of what they say."""
