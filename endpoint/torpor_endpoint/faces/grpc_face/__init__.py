"""The face of the Open Inference Protocol over gRPC: it says by HTTP what it is asked, and asks the face over REST."""
