"""`fairturn demo`: a burst of real webhooks through real processes into a simulated CRM, and what came of it.

scenario  the burst as data              processes  what is started, and ended
settings  the file that Fairturn runs on  sending   the burst over HTTP, in real time
measure   evidence -> numbers             words      numbers -> sentences               run  all of it, in order
"""
